"""Adapter of the rule clean_representations."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.runs.cleaning import clean_representations

        print(clean_representations(this.results))
