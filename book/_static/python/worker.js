// Python in a page, beside the page's thread: it runs one cell after the other.
"use strict";
const quiet = () => {};
console.log = quiet; // what is fetched and unpacked

// What Python fetches is counted, and the two files that arrive packed are unpacked.
const fetchFile = fetch;
let loaded = 0;
const count = (chunk, on) => {
  postMessage({ loaded: loaded += chunk.length });
  on.enqueue(chunk);
};
globalThis.fetch = async (address) => {
  const packed = /\.(js|wasm)$/.test(address);
  const { body, ok, status } = await fetchFile(packed ? `${address}.packed` : address);
  if (!ok) throw new Error(`${address}: ${status}`);
  const counted = body.pipeThrough(new TransformStream({ transform: count }));
  const unpacked = packed ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  return new Response(unpacked, { headers: packed ? { "Content-Type": "application/wasm" } : {} });
};

const started = (async () => {
  (0, eval)(await (await fetch("xpython_wasm.js")).text()); // defines createXeusModule for all
  const python = globalThis.Module = await createXeusModule({ print: quiet, printErr: quiet });
  await python.bootstrap_from_empack_packed_environment("packages.json", ".");
  python.exec("import in_page");
  return python;
})();

addEventListener("message", async ({ data: { call, code } }) => {
  try {
    const python = await started, say = python.eval(`in_page.${call}`).py_call(code);
    postMessage(say ? JSON.parse(say) : {});
  } catch (problem) {
    postMessage({ broken: `${problem?.message ?? problem}` });
  }
});
