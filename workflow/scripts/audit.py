"""Adapter of the rule audit."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.audit.audit import audit
        from beirflow.audit.repairs import Call
        from beirflow.audit.root import Published
        from beirflow.experiment.load import load_experiment

        said = snakemake.params
        words = audit(
            folder=str(this.results),
            experiment=load_experiment(snakemake.config),
            sample=said.sample,
            call=Call(said.snakefile, said.directory, said.configfiles, said.config),
            published=Published(said.manifest_sha256, said.manifest_signature, said.allowed_signers),
        )
        print(words)
