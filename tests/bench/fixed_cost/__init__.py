"""Stage `fixed-cost`: what an encoding job costs before it encodes much."""
