"""Synchronous training with spare replicas as TensorFlow does it: workers, a chief and tokens.

`SyncReplicasOptimizer` has no barrier. It has, for each variable, a conditional accumulator, and
one queue of tokens. A step of training is made of moves that three kinds of actors make in any
order:

- a *worker* pulls the weights, computes, and pushes a gradient to each variable's accumulator,
  marked with the worker's local step; a gradient for a step that is over is dropped there;
- the worker then takes a token, or waits for one; the token's value is its next local step;
- the *chief* (a thread of one worker) waits until an accumulator holds R gradients, takes their
  mean and updates the variable; once every variable is updated it raises the global step, and
  puts max(total, R) tokens of that value into the queue.

`SyncReplicas` holds the state and makes one move at a time, when it is told to. It has no threads
and no clock: who moves when is up to the caller, and the same moves give the same weights, drops
and tokens as TensorFlow's own optimizer, bit for bit.

Source: Chen et al., "Revisiting Distributed Synchronous SGD" (2016), section 3.1; TensorFlow 2.21,
`sync_replicas_optimizer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helpers.engine.servers.rule import Optimizer
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Array
from helpers.lessons.spare_replicas.algorithms.accumulators import (
    ConditionalAccumulator,
    TokenQueue,
)


def tokens_at_start(replicas_to_aggregate: int, total: int, num_tokens: int = -1) -> int:
    """How many tokens are in the queue before training starts.

    num_tokens: −1 puts R tokens in, so that the quick workers go on at once with a second
    gradient for the first step; 0 puts none in, which makes every step a barrier.
    Raises ValueError where there are too few: with fewer workers than R, some of them have to
    give several gradients a step, and need R − total tokens to get that far.
    """
    if num_tokens == -1:
        return replicas_to_aggregate
    needed = replicas_to_aggregate - total
    if num_tokens < needed:
        raise ValueError(
            f"{num_tokens} tokens at the start are too few: {total} workers have to give "
            f"{replicas_to_aggregate} gradients, so the first step needs at least {needed}."
        )
    return max(num_tokens, 0)


def tokens_a_step(replicas_to_aggregate: int, total: int) -> int:
    """How many tokens the chief hands out after an update: one for each gradient that may come."""
    return max(total, replicas_to_aggregate)


class SyncReplicas:
    """The whole of `SyncReplicasOptimizer`: the weights, the accumulators, the queue, the moves.

    weights: one array for each variable. optimizer: makes the optimizer of one variable; it is
    called once for each. replicas_to_aggregate: R, the gradients that make an update.
    total_num_replicas: the workers, R where none is given; R + b with b spare ones. num_tokens: at
    the start, see `tokens_at_start`. global_step: where training goes on from.
    accumulator, queue: the classes to build with, where you have written your own.

    Example, one step of two workers of which the first counts:

        sync = SyncReplicas([np.zeros(2)], lambda: Sgd(0.1), 1, 2, num_tokens=0)
        sync.push(0, [np.ones(2)])   # (True,)
        sync.take_token(0)           # None: worker 0 waits
        sync.chief_turn()            # True: an update is made
        sync.push(1, [np.ones(2)])   # (False,): too late
        sync.take_token(0)           # 1
    """

    def __init__(
        self,
        weights: Sequence[Array],
        optimizer: Callable[[], Optimizer],
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        num_tokens: int = -1,
        global_step: int = 0,
        accumulator: Callable[[], ConditionalAccumulator] = ConditionalAccumulator,
        queue: Callable[[], TokenQueue] = TokenQueue,
    ) -> None:
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise ValueError(
                f"An update takes 1 gradient or more of 1 worker or more, not "
                f"{replicas_to_aggregate} of {total}."
            )
        if not weights:
            raise ValueError("There is nothing to train: give at least one variable.")
        self.replicas_to_aggregate, self.total_num_replicas = replicas_to_aggregate, total
        self.weights = list(weights)
        self.global_step = global_step
        self.optimizers = [optimizer() for _ in weights]
        self.accumulators = [accumulator() for _ in weights]
        for each in self.accumulators:
            each.set_global_step(global_step)
        self.queue = queue()
        start = tokens_at_start(replicas_to_aggregate, total, num_tokens)
        self.queue.enqueue_many(global_step, start)
        self.local_steps: dict[int, int] = {}
        self._pushed: dict[int, set[int]] = {}
        self._updated: set[int] = set()
        for worker in range(total):
            self.join(worker)

    # --- a worker's moves ---------------------------------------------------------------------

    def join(self, worker: int) -> None:
        """A worker starts, or starts again: its local step is the global step of now."""
        self.local_steps[worker] = self.global_step
        self._pushed[worker] = set()

    def pull(self) -> tuple[Array, ...]:
        """The weights as they are now, one array for each variable.

        Pulling does not change a worker's local step: only a token does. So a worker that took an
        old token pulls the newest weights, and its gradient is dropped all the same.
        """
        return tuple(self.weights)

    def push(self, worker: int, gradients: Sequence[Array]) -> tuple[bool, ...]:
        """Give each variable's accumulator a gradient. Returns, for each, whether it counts."""
        if len(gradients) != len(self.weights):
            raise ValueError(
                f"Worker {worker} pushes {len(gradients)} gradients, but there are "
                f"{len(self.weights)} variables: push one for each."
            )
        for variable, gradient in enumerate(gradients):  # all are looked at before any counts
            self._check(worker, variable, gradient)
        return tuple(self.push_one(worker, n, gradient) for n, gradient in enumerate(gradients))

    def push_one(self, worker: int, variable: int, gradient: Array) -> bool:
        """Give one variable's accumulator a gradient. Returns whether it counts.

        The variables of a step are pushed one after the other, and the chief may move in between:
        then a gradient may count for one variable and be dropped for another.
        """
        self._check(worker, variable, gradient)
        self._pushed[worker].add(variable)
        return self.accumulators[variable].apply_grad(gradient, self.local_steps[worker])

    def _check(self, worker: int, variable: int, gradient: Array) -> None:
        """Raise ValueError for a gradient that cannot be pushed now."""
        if worker not in self.local_steps:
            raise ValueError(f"Worker {worker} has not joined; call join({worker}) first.")
        weights = self.weights[variable]
        if gradient.shape != weights.shape:
            raise ValueError(
                f"Variable {variable} has shape {tuple(weights.shape)}, the gradient that worker "
                f"{worker} pushes {tuple(gradient.shape)}; they must be the same."
            )
        if variable in self._pushed[worker]:
            raise ValueError(
                f"Worker {worker} has pushed variable {variable} already; it takes a token before "
                "it pushes again."
            )

    def take_token(self, worker: int) -> int | None:
        """Take a token and go on with its value as local step; None where the worker must wait.

        Raises ValueError where the worker has not pushed every variable yet.
        """
        if len(self._pushed.get(worker, ())) < len(self.weights):
            raise ValueError(
                f"Worker {worker} has not pushed a gradient to every variable; it takes a token "
                "after that."
            )
        token = self.queue.dequeue()
        if token is not None:
            self.local_steps[worker] = token
            self._pushed[worker] = set()
        return token

    def waits(self, worker: int) -> bool:
        """Whether a worker has pushed everything and has no token yet."""
        return len(self._pushed[worker]) == len(self.weights)

    # --- the chief's --------------------------------------------------------------------------

    def chief_turn(self) -> bool:
        """Take the means that are complete and update their variables.

        Returns whether a step ended. A variable that is updated waits for the others: the step
        ends, and the tokens come, once all are. TensorFlow's chief waits inside `take_grad`, so
        it moves as soon as it can: call this after every push to have it do so. Where it is called
        later, as when the chief is still busy with the last step, more than R gradients may have
        come; the mean is over all of them.
        """
        for variable, accumulator in enumerate(self.accumulators):
            if variable in self._updated:
                continue
            mean = accumulator.take_grad(self.replicas_to_aggregate)
            if mean is not None:
                weights, optimizer = self.weights[variable], self.optimizers[variable]
                self.weights[variable] = optimizer.step(weights, mean, self.global_step)
                self._updated.add(variable)
        if len(self._updated) < len(self.weights):
            return False
        self._updated = set()
        self.global_step += 1
        count = tokens_a_step(self.replicas_to_aggregate, self.total_num_replicas)
        self.queue.enqueue_many(self.global_step, count)
        return True
