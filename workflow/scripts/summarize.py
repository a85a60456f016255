"""Adapter of the rule summarize."""

from beirflow.job_log import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.summary import summarize

        table = summarize(means_paths=list(snakemake.input.means), summary_path=snakemake.output[0])
        print(f"\n{table}\n\nThe same in full precision: {snakemake.output[0]}\n")
