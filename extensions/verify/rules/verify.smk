"""Verify a result of others on a sample."""

verified = experiment.options("verify")
# None without a verification.
verified_datasets = {"dataset": experiment.chosen_datasets if verified else []}


use rule audit_job as verify with:
    input:
        documents=expand(at(layout.DOCUMENTS), **verified_datasets),
        queries=expand(at(layout.QUERIES), **verified_datasets),
        qrels=expand(at(layout.QRELS), **verified_datasets),
        corpus=expand(at(layout.CORPUS), **verified_datasets),
        bm25=expand(at(layout.RUN), system="bm25", **verified_datasets),
        model=expand(
            at(layout.MODEL), system=verified.get("system"), **verified_datasets
        ),
        claimed=(
            expand(at(layout.RUN), system="claimed", **verified_datasets)
            if verified.get("claim", {}).get("run")
            else []
        ),
    log:
        "<results>/logs/verify.log",
    localrule: True
    params:
        **job(
            "verify",
            "beirflow.extensions.verify.verify:verify",
            experiment="beirflow.config.load:load_experiment()",
        ),
        request=verified,
    message:
        "verify the result of others"
