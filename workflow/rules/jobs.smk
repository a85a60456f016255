"""What all jobs of an environment have in common, for `use rule` in other files; none of these rules makes anything itself."""

# The file of an environment, whichever folder a rule is in.
environment = lambda name: str(WORKFLOW.parent / f"envs/{name}.yaml")


rule data_job:
    log:
        "<results>/logs/data_job.log",
    conda:
        environment("data")
    shell:
        RUN_JOB


rule encode_job:
    log:
        "<results>/logs/encode_job.log",
    conda:
        environment("encode")
    shell:
        RUN_JOB


rule report_job:
    log:
        "<results>/logs/report_job.log",
    conda:
        environment("report")
    shell:
        RUN_JOB


rule audit_job:
    log:
        "<results>/logs/audit_job.log",
    conda:
        environment("audit")
    shell:
        RUN_JOB
