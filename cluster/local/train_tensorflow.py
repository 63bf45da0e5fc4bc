r"""Train with MultiWorkerMirroredStrategy and tf_keras, from a shell in the course's folder.

TF_CONFIG tells each process who all are and which of them it is:

workers='["127.0.0.1:23451", "127.0.0.1:23452"]'
for i in 0 1; do
    TF_CONFIG='{"cluster": {"worker": '$workers'}, "task": {"type": "worker", "index": '$i'}}' \
        python cluster/local/train_tensorflow.py &
done; wait
"""

from __future__ import annotations

from helpers.lessons.frameworks.experiments import script, setting, strategies


def main() -> None:
    """Be one worker of those in TF_CONFIG; alone where it is not set."""
    script.import_tensorflow()
    part = strategies.multi_worker(setting.task(script.options().steps))
    if part.notes["worker"] == 0:
        script.tell(part.notes["workers"], part, part.losses[-1])


if __name__ == "__main__":
    main()
