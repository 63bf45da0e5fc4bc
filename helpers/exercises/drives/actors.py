"""Drivers for lesson 15: losses and where their gradients go; what may have no way back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.values import plain, tensors
from helpers.exercises.spec import Case, Observation

FLOATS = ("logits", "values", "targets", "advantages")
OF_NETWORKS = (0, 3, 4)  # places of `corrected_steps`' arguments
LOSSES = ("policy", "value", "entropy")


def losses_there_and_back(fn: Function, case: Case) -> Observation:
    """Call `fn(logits, values, actions, targets, advantages)` and go back from each loss alone.

    All but the actions ask for a gradient. `values[0]`: "given", what it returned; "changed", which
    argument was written into, or ""; "gradients", where it returned three numbers: for each loss in
    the order of LOSSES, that of each argument in the order of FLOATS, or None where no way leads.
    """
    trouble = wrong_signature(fn, 5)
    if trouble:
        return trouble
    given = tensors(case.args[0])
    found: dict[str, Any] = {"gradients": []}
    try:
        for at in range(len(LOSSES)):  # a call for each: one way back, one gradient
            leaves = dict(zip(FLOATS, (given[0], given[1], *given[3:]), strict=True))
            leaves = {name: leaf.clone().requires_grad_() for name, leaf in leaves.items()}
            args = {name: leaf.clone() for name, leaf in leaves.items()}
            actions = given[2].clone()
            out = fn(args["logits"], args["values"], actions, args["targets"], args["advantages"])
            if at == 0:
                found["given"] = plain(out)
                same = [torch.equal(args[name].detach(), leaves[name]) for name in FLOATS]
                same.append(torch.equal(actions, given[2]))
                names = [
                    name for name, kept in zip((*FLOATS, "actions"), same, strict=True) if not kept
                ]
                found["changed"] = names[0] if names else ""
            if not _are_losses(out):
                break
            if out[at].requires_grad:
                out[at].backward()
            found["gradients"].append([plain(leaf.grad) for leaf in leaves.values()])
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[found])


def _are_losses(out: Any) -> bool:
    return (
        isinstance(out, tuple | list)
        and len(out) == len(LOSSES)
        and all(isinstance(one, Tensor) and one.numel() == 1 for one in out)
    )


def corrected_steps(fn: Function, case: Case) -> Observation:
    """Call `fn(log_ratios, rewards, discounts, values, bootstrap, rho, c)`; what a network has a
    part in, which is log_ratios, values and bootstrap, asks for a gradient.

    `values[0]`: "given", what it returned; "linked", for each item of that whether a way leads
    back; "changed", the place of the argument that was written into, or None.
    """
    trouble = wrong_signature(fn, len(case.args[0]))
    if trouble:
        return trouble
    given = tensors(case.args[0])
    args = [one.clone() if isinstance(one, Tensor) else one for one in given]
    for at in OF_NETWORKS:
        args[at] = args[at].requires_grad_().clone()
    try:
        out = fn(*args)
        pairs = enumerate(zip(args, given, strict=True))
        changed = [
            at for at, (arg, was) in pairs if isinstance(arg, Tensor) and not _same(arg, was)
        ]
        items = out if isinstance(out, tuple | list) else [out]
        found = {
            "given": plain(out),
            "linked": [isinstance(one, Tensor) and one.requires_grad for one in items],
            "changed": changed[0] if changed else None,
        }
        return Observation(values=[found])
    except Exception as error:
        return failed(error, fn)


def _same(arg: Tensor, was: Tensor) -> bool:
    return torch.equal(arg.detach(), was)
