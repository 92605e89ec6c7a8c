"""Assumptions of a designed drive: what the linter finds in it, and in its workload."""

from __future__ import annotations

from dataclasses import replace

from nandlab.catalogue import load_config
from nandlab.lint.check import Finding
from nandlab.lint.jobs import jobs_of
from nandlab.lint.linting import findings
from nandlab.lint.reading import Planned, read
from nandlab.lint.subject import Run
from nandlab.study.task import Task


def findings_of(task: Task) -> list[Finding]:
    """Findings in the drive and the jobs of a run that their files do not explain."""
    plan = task.plan
    is_trace = plan.kind == "trace"
    subject = replace(
        read(task.drive, Planned()),
        drive=load_config(task.drive, task.sets),
        run=Run(plan.precondition, plan.skip, plan.until, is_trace),
        jobs=[] if is_trace else jobs_of(plan.source),
        jobs_place="",
    )
    return [one for one in dict.fromkeys(findings(subject)) if not one.is_explained]
