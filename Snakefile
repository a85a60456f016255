# The entrance of a checkout: `snakemake --cores 8 -- results/summary.csv` finds this file. All rules are those of workflow/Snakefile.
# Unlike the directive `include:`, this keeps what that file does without a target.
workflow.include("workflow/Snakefile", overwrite_default_target=True)
