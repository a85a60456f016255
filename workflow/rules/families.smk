"""The rules of all families, a rule a stage: its inputs and outputs are declared in the folder of its family (families/stage.py).

Each family represents queries and documents, searches these chunk by chunk for candidates, which are merged (runs.smk), or makes
a run at once.
"""

for family in experiment.families.values():
    for stage in family.stages:

        rule:
            name:
                stage.rule
            input:
                **read_by(stage),
            output:
                **made_by(stage),
            log:
                f"<results>/logs/{stage.rule}/{stage.log}",
            wildcard_constraints:
                **constraints_of(stage, family),
            priority: stage.priority
            localrule: stage.downloads or (stage.outside and in_bucket)
            conda:
                f"../../envs/{'encode' if stage.gpu else stage.env}.yaml"
            threads: threads_of(stage)
            resources:
                **({"gpu": gpu_places} if stage.gpu else {}),
            params:
                **job(stage.rule, stage.function, **stage.makers),
                **{name: from_task(question) for name, question in stage.params.items()},
            message:
                stage.message
            shell:
                RUN_JOB
