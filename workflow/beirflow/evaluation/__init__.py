"""From runs to numbers: measures, means, significance, cost and the summary."""
