"""Verify a result of others on a sample."""

verified = experiment.options("verify")


def of_verified(pattern, system=""):
    """Files of the verified dataset; none without a verification."""
    datasets = experiment.chosen_datasets if verified else []
    return expand(at(pattern), system=system, dataset=datasets)


rule verify:
    input:
        documents=of_verified(layout.DOCUMENTS),
        queries=of_verified(layout.QUERIES),
        qrels=of_verified(layout.QRELS),
        corpus=of_verified(layout.CORPUS),
        bm25=of_verified(layout.RUN, "bm25"),
        model=of_verified(layout.MODEL, verified.get("system")),
        claimed=(
            of_verified(layout.RUN, "claimed")
            if verified.get("claim", {}).get("run")
            else []
        ),
    log:
        "<results>/logs/verify.log",
    localrule: True
    conda:
        "../../../envs/audit.yaml"
    params:
        **job(
            "verify",
            "beirflow.extensions.verify.verify:verify",
            experiment="beirflow.config.load:load_experiment()",
        ),
        request=verified,
    message:
        "verify the result of others"
    shell:
        RUN_JOB
