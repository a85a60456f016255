"""From runs to numbers: measures, means, significance, cost, the summary, and the manifest of the results."""
