// bench.mjs CASES PEER OX.wasm...: measures ox beside onnxruntime-web, which is installed in the folder PEER, both in this
// process with one thread. CASES is what wasm.py writes: a list of {name, file, inputs: [{name, type, dims}]}. Each case
// is a line of JSON: the milliseconds of a run of each, in turn, by the least of many rounds, and how far results are
// apart. Inputs are copied in and results out by both.
// bench.mjs --start CASES PEER OX.wasm...: the milliseconds from the bytes of a program and of the first case to its result.
// bench.mjs --sizes FILE...: bytes of each, and with brotli.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { argv } from "node:process";
import { brotliCompressSync, constants } from "node:zlib";
import { pathToFileURL } from "node:url";
import { WASI } from "node:wasi";

const [mode, ...rest] = argv[2].startsWith("--") ? argv.slice(2) : ["", ...argv.slice(2)];
const [casesFile, peerFolder, ...programs] = rest;
const ROUNDS = 25, ROUND_MS = 12;
const ARRAYS = { float32: Float32Array, uint8: Uint8Array, int32: Int32Array };

// The values of inputs follow from their places; floats lie in [-2, 2).
function filled({ type, dims }) {
    const array = new ARRAYS[type](dims.reduce((a, b) => a * b, 1));
    for (let i = 0; i < array.length; i++)
        array[i] = type === "float32" ? ((i * 37) % 251 - 125) / 64 : (i * 37) % 251;
    return array;
}

async function openOx(program) {
    const wasi = new WASI({ version: "preview1", args: ["runs"], env: {} });
    const { instance } = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
    wasi.initialize(instance);
    return instance.exports;
}

// What ox says of an error.
function text(ox) {
    const bytes = new Uint8Array(ox.memory.buffer, ox.runs_error(), 500);
    return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString();
}

function load(ox, bytes) {
    const at = ox.runs_memory(bytes.length);
    new Uint8Array(ox.memory.buffer, at, bytes.length).set(bytes);
    if (ox.runs_open(at, bytes.length))
        throw new Error(text(ox));
    return at;
}

function run(ox, arrays, Type) {
    arrays.forEach((array, i) => new array.constructor(ox.memory.buffer, ox.runs_input(i), array.length).set(array));
    if (ox.runs_run())
        throw new Error(text(ox));
    return new Type(ox.memory.buffer, ox.runs_output(), ox.runs_output_size() / Type.BYTES_PER_ELEMENT).slice();
}

const now = () => performance.now();
const least = numbers => Math.min(...numbers);

// The greatest distance of two results, as a part of the greatest value.
function apart(a, b) {
    if (a.length !== b.length)
        return Infinity;
    let most = 0, largest = 0;
    for (let i = 0; i < a.length; i++) {
        const distance = Math.abs(Number(a[i]) - Number(b[i]));
        if (!(distance <= most))
            most = distance;
        largest = Math.max(largest, Math.abs(Number(b[i])));
    }
    return most / (largest || 1);
}

// How often fn can run in a round.
async function count(fn) {
    const start = now();
    let runs = 0;
    do
        await fn(), runs++;
    while (now() - start < ROUND_MS);
    return runs;
}

async function timed(fn, runs) {
    const start = now();
    for (let i = 0; i < runs; i++)
        await fn();
    return (now() - start) / runs;
}

async function measure({ name, file, inputs }, modules) {
    const bytes = readFileSync(file), arrays = inputs.map(filled);
    const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
    const feeds = () => Object.fromEntries(inputs.map(({ name, type, dims }, i) => [name, new ort.Tensor(type, arrays[i], dims)]));
    const theirs = async () => (await session.run(feeds()))[session.outputNames[0]].data;
    const expected = await theirs();
    const ways = [theirs], distances = [];
    for (const ox of modules) {
        load(ox, bytes);
        ways.push(() => run(ox, arrays, expected.constructor));
        distances.push(apart(await ways.at(-1)(), expected));
    }
    const runs = [], times = ways.map(() => []);
    for (const way of ways) {
        await count(way);
        runs.push(await count(way));
    }
    for (let round = 0; round < ROUNDS; round++)
        for (let i = 0; i < ways.length; i++)
            times[i].push(await timed(ways[i], runs[i]));
    modules.forEach(ox => ox.runs_close());
    await session.release();
    return { name, times: times.map(least), distances };
}

// From the bytes of a program and a model to the first result.
async function start({ name, file, inputs }) {
    const bytes = readFileSync(file), arrays = inputs.map(filled), times = [];
    for (const program of programs) {
        const begin = now(), ox = await openOx(program);
        load(ox, bytes);
        run(ox, arrays, Float32Array);
        times.push(now() - begin);
    }
    return { name, times };
}

async function peerStart({ name, file, inputs }) {
    const bytes = readFileSync(file), arrays = inputs.map(filled), begin = now();
    const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
    await session.run(Object.fromEntries(inputs.map(({ name, type, dims }, i) => [name, new ort.Tensor(type, arrays[i], dims)])));
    return now() - begin;
}

function openPeer() {
    const ort = createRequire(pathToFileURL(`${peerFolder}/package.json`))("onnxruntime-web/wasm");
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = "error";
    return ort;
}

function sizes(file) {
    const bytes = readFileSync(file);
    const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
    return [bytes.length, brotliCompressSync(bytes, options).length];
}

const say = line => console.log(JSON.stringify(line));
const cases = mode === "--sizes" ? [] : JSON.parse(readFileSync(casesFile));
const ort = mode === "--sizes" ? null : openPeer();
if (mode === "--sizes") {
    say(rest.map(sizes));
} else if (mode === "--start") {
    say([await peerStart(cases[0]), ...(await start(cases[0])).times]);
} else {
    const modules = [];
    for (const program of programs)
        modules.push(await openOx(program));
    for (const each of cases)
        say(await measure(each, modules));
}
