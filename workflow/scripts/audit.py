"""Adapter of the rule audit."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.audit.audit import audit
        from beirflow.chain.repairs import Call
        from beirflow.chain.root import Published
        from beirflow.exchange.again import exports_again
        from beirflow.experiment.load import load_experiment

        experiment, said = load_experiment(snakemake.config), snakemake.params
        call, published = Call(*said.call), Published(*said.published)
        folder = str(this.results)
        print(
            audit(folder=folder, experiment=experiment, sample=said.sample, call=call, published=published, exports=exports_again)
        )
