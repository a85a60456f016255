# Entry point of a checkout: `snakemake --cores 8 -- results/summary.csv` finds this file. All rules are those of workflow/Snakefile.
include: "workflow/Snakefile"


# Without a target, as there: an include does not keep which rule that is.
use rule help as overview with:
    default_target: True
