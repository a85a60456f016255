"""What all jobs of an environment have in common, for `use rule` in other files; none of these rules makes anything itself."""


def environment(name):
    """The file of an environment, whichever folder a rule is in."""
    return str(WORKFLOW.parent / f"envs/{name}.yaml")


rule data_job:
    conda:
        environment("data")
    shell:
        RUN_JOB


rule encode_job:
    conda:
        environment("encode")
    shell:
        RUN_JOB


rule report_job:
    conda:
        environment("report")
    shell:
        RUN_JOB


rule audit_job:
    conda:
        environment("audit")
    shell:
        RUN_JOB
