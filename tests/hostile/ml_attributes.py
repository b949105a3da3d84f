"""ml_attributes.py [--cases N] [--seed N]: nodes of the domain ai.onnx.ml whose attributes were damaged: lists that are cut
off or longer, numbers that are out of range, words that are exchanged. What is left gives a result or an error."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "property"))
import ml  # noqa: E402
import oxlib  # noqa: E402
import trials  # noqa: E402

NUMBERS = [-1, 0, 1, 2, 7, 100, 2**31 - 1, 2**31, -2**31, 2**62, -2**63]


def damaged_list(rng, values):
    values = list(values)
    kind = int(rng.integers(0, 5))
    at = int(rng.integers(0, len(values)))
    if kind == 0:
        return values[:at]
    if kind == 1:
        return values + values[at:]
    other = values[int(rng.integers(0, len(values)))]
    if kind == 2 and isinstance(other, int):
        other = NUMBERS[int(rng.integers(0, len(NUMBERS)))]
    values[at] = other
    return values


def damage(rng, attributes):
    """Changes some attributes in place, or leaves them out."""
    for name in [*attributes][:]:
        value = attributes[name]
        if rng.random() > 2 / len(attributes):
            continue
        if isinstance(value, list) and value:
            attributes[name] = damaged_list(rng, value)
        elif isinstance(value, int):
            attributes[name] = NUMBERS[int(rng.integers(0, len(NUMBERS)))]
        else:
            del attributes[name]
        if attributes.get(name) == []:
            del attributes[name]


def check(rng, turn):
    names = list(ml.DRAWERS)
    case = ml.DRAWERS[names[turn % len(names)]](rng)
    damage(rng, case.attributes)
    try:
        ml.run_ox(ml.build(case), case, 1, bytes=1 << 26)
    except oxlib.OxError as error:
        if error.status == oxlib.ARGUMENT or not str(error):
            return f"{case.op}: status {error.status}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 1000))
