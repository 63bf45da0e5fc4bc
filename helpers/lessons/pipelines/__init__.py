"""Lesson 13, pipelines."""

from helpers.rooms import Names, handed_out

NUMBER = "13"
BUILDS: tuple[str, ...] = ("schedules", "pipeline", "recompute", "zero_bubble")
GIVES: tuple[str, ...] = ("instructions", "splitting.stages", "timetable", "deferred")
NAMES: Names = {
    "": ("algorithms.schedules", "helpers.notebook.published"),
    "algorithms.instructions": (
        "Backward",
        "BackwardInput",
        "BackwardWeights",
        "Forward",
        "Instruction",
    ),
    "algorithms.pipeline": ("Pipeline",),
    "algorithms.timetable": ("idle_share", "in_a_v", "makespan", "own_idle", "timetable"),
    "algorithms.zero_bubble": ("split_bubble", "zb_v"),
    "experiments.gpipe_clock": ("BUBBLE_ALONE", "FITTED", "speedups"),
    "experiments.kept": ("Kept",),
    "experiments.torch_pipeline": ("TorchPipeline",),
    "figures.pipeline_knobs": ("INTERLEAVED", "draw_schedule", "played", "two_chunks", "words"),
    "figures.pipeline_steps": ("show_contenders", "show_real_bubble"),
    "figures.pipeline_view": (
        "show_bubble",
        "show_halves",
        "show_held",
        "show_in_turns",
        "show_microbatches",
        "show_real_schedules",
        "show_speedups",
        "show_two_orders",
    ),
    "helpers.engine.errors": ("Deadlock",),
    "helpers.lessons.messages.algorithms.cost_model": ("INTERCONNECTS",),
    "helpers.lessons.splitting.algorithms.stages": ("cut", "microbatches"),
    "helpers.lessons.splitting.experiments.machines": ("machine",),
    "helpers.lessons.splitting.experiments.transformer": ("text", "token_loss", "transformer"),
    "helpers.notebook.figures": ("show",),
    "helpers.notebook.measure": ("in_turn", "medians"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
