"""The families of systems: how a system represents texts and searches, one folder each, and what several of them share."""
