// Python in a page, beside the page's thread: it runs one cell after the other.
"use strict";
importScripts("xpython_wasm.js");

const quiet = () => {};
console.log = quiet; // what is fetched and unpacked
const started = (async () => {
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
