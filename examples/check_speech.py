"""Compares the speech example with what it is given: check_speech.py SPEECH MODEL SCRATCH_FOLDER.

espeak-ng speaks words, which are put at known places of silence and of noise; every stretch that the example finds has
to be one of these, and every word has to be found. The probabilities are compared with ONNX Runtime's, whose state is
carried from step to step here. Files of other kinds have to be refused.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import sys
import wave

import numpy as np
from tally import check, finish

EARLY, LATE = 0.25, 0.4  # seconds that the start of a stretch and its end may be off
TOLERANCE = 1e-3
TESTS = 39
WORDS = ["good morning to you", "seven hundred and forty two", "where is the railway station", "thank you very much"]


def resampled(samples, before, after):
    """The same sound at another rate, by its spectrum."""
    count = len(samples) * after // before
    spectrum = np.fft.rfft(samples)
    result = np.zeros(count // 2 + 1, complex)
    shared = min(len(result), len(spectrum))
    result[:shared] = spectrum[:shared]
    return np.fft.irfft(result, count) * (count / len(samples))


def spoken(text, rate, folder):
    """A sentence from its first loud sample to its last one."""
    path = folder / "word.wav"
    subprocess.run(["espeak-ng", "-w", path, text], check=True)
    with wave.open(str(path)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16) / 32768
        samples = resampled(samples, sound.getframerate(), rate)
    loud = np.flatnonzero(abs(samples) > 0.02)
    return samples[loud[0]:loud[-1] + 1]


def talk(rate, folder, pauses, noise):
    """(samples, stretches in seconds): the words with these pauses before, between and behind."""
    rng = np.random.default_rng(len(pauses))
    parts, stretches, at = [np.zeros(int(pauses[0] * rate))], [], pauses[0]
    for text, pause in zip(WORDS, pauses[1:]):
        word = spoken(text, rate, folder)
        stretches.append((at, at + len(word) / rate))
        parts += [word, np.zeros(int(pause * rate))]
        at += len(word) / rate + int(pause * rate) / rate
    samples = np.concatenate(parts)
    return samples + noise * rng.standard_normal(len(samples)), stretches


def write(path, samples, rate, channels=1):
    frames = np.clip(np.round(samples * 32767), -32768, 32767).astype("<i2")
    with wave.open(str(path), "wb") as sound:
        sound.setparams((channels, 2, rate, 0, "NONE", ""))
        sound.writeframes(np.repeat(frames, channels).tobytes() if channels > 1 else frames.tobytes())


def run(program, *arguments, stdin=None):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, input=stdin, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def found_stretches(text):
    return [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) s to +([\d.]+) s", text)]


def check_words(program, folder):
    for rate, channels, noise, pauses in ((16000, 1, 0, (1, 1.5, 0.8, 2, 1)), (16000, 2, 1e-3, (0.5, 1, 1, 1, 2)),
                                          (8000, 1, 1e-3, (2, 0.9, 1.2, 1, 0.7)), (8000, 2, 0, (0.1, 3, 1))):
        path = folder / f"talk_{rate}_{channels}.wav"
        samples, stretches = talk(rate, folder, pauses, noise)
        write(path, samples, rate, channels)
        status, out, err = run(program, "--ascii", path)
        found = found_stretches(out)
        what = f"{path.name}: {stretches} {out}"
        check(f"{what}: status", status == 0 and not err, err)
        check(f"{what}: as many stretches as sentences", len(found) == len(stretches), found)
        near = all(abs(a - c) < EARLY and abs(b - d) < LATE for (a, b), (c, d) in zip(found, stretches))
        check(f"{what}: where they are", near, found)
        bar = out.splitlines()[1]
        check(f"{what}: the bar", bar.startswith("  |") and bar.endswith("|") and "#" in bar and len(bar) <= 76, bar)
        again = run(program, "--ascii", "-", stdin=path.read_bytes())[1]
        check(f"{what}: standard input", again.splitlines()[1:] == out.splitlines()[1:], again)


def check_silence(program, folder):
    rng = np.random.default_rng(1)
    hum = 0.1 * np.sin(2 * np.pi * 50 * np.arange(48000) / 16000)
    for name, samples in (("silence", np.zeros(48000)), ("noise", 0.05 * rng.standard_normal(48000)), ("hum", hum)):
        write(folder / f"{name}.wav", samples, 16000)
        status, out, _ = run(program, folder / f"{name}.wav")
        check(name, status == 0 and "nobody speaks" in out and not found_stretches(out), out)


def reference(model, path):
    """The probabilities of all steps, as ONNX Runtime gives them."""
    import onnxruntime
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    with wave.open(str(path)) as sound:
        rate, channels = sound.getframerate(), sound.getnchannels()
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16).reshape(-1, channels)
    samples = (samples / 32768).mean(1).astype(np.float32)
    step, before = rate * 512 // 16000, rate * 64 // 16000
    samples = np.concatenate([np.zeros(before, np.float32), samples, np.zeros(-len(samples) % step, np.float32)])
    state, result = np.zeros((2, 1, 128), np.float32), []
    for start in range(0, len(samples) - before, step):
        window = samples[None, start:start + before + step]
        output, state = session.run(None, {"input": window, "state": state, "sr": np.array(rate)})
        result.append(float(output[0, 0]))
    return np.array(result)


def check_probabilities(program, model, folder):
    for path in sorted(folder.glob("talk_*.wav"))[:3]:
        out = run(program, "-m", model, "--tsv", path)[1]
        ours = np.array([float(line.split("\t")[2]) for line in out.splitlines()])
        theirs = reference(model, path)
        good = ours.shape == theirs.shape and abs(ours - theirs).max() <= TOLERANCE
        check(f"{path.name}: the probabilities of ONNX Runtime", good)


def riff(*chunks, size=None):
    body = b"".join(name + struct.pack("<I", len(data) if size is None else size) + data for name, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def fmt(kind=1, channels=1, rate=16000, bits=16):
    return b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, 2 * rate, 2 * channels, bits)


def check_mistakes(program, folder):
    data = (b"data", bytes(3000))
    for name, content, text in (
            ("rate", riff(fmt(rate=44100), data), "has 44100 samples a second: the model takes 8000 or 16000"),
            ("bits", riff(fmt(bits=8), data), "has samples of 8 bits in format 1, not 16-bit PCM"),
            ("float", riff(fmt(kind=3, bits=32), data), "has samples of 32 bits in format 3"),
            ("channels", riff(fmt(channels=6), data), "has 6 channels, not 1 or 2"),
            ("text", b"This is no sound.\n" * 9, "is not a .wav file"), ("empty", b"", "is not a .wav file"),
            ("order", riff(data, fmt()), "has no samples"), ("nothing", riff(fmt()), "has no samples"),
            ("short", riff(fmt())[:30], "is cut short"), ("huge", riff((b"LIST", b"x"), size=0xFFFFFFFF),
                                                         "has no samples")):
        path = folder / f"{name}.wav"
        path.write_bytes(content)
        status, out, err = run(program, path)
        check(name, status == 1 and f"{path}: {text}" in err and not out, out + err)
    check("no file", run(program, folder / "none.wav")[0] == 1)
    check("no arguments", run(program)[0] == 2)
    check("no model", "make models" in run(program, "-m", "none.onnx", folder / "rate.wav")[2])


def main():
    program, model, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    missing = None if pathlib.Path(model).exists() else "the model is not there (make models)"
    if not shutil.which("espeak-ng"):
        missing = "no espeak-ng (Debian's package espeak-ng)"
    if missing:
        print(f"skipped: check-speech: {missing}")
        print(f"0 passed, 0 failed, {TESTS} skipped")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    check_words(program, folder)
    check_silence(program, folder)
    check_probabilities(program, model, folder)
    check_mistakes(program, folder)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
