"""Stage `plan`: what Snakemake takes to plan everything."""
