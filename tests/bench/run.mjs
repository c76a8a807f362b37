// `npm run bench [-- NAME...]`: bundles the programs of this folder into a temporary directory, runs the
// measurements asked for (all, unless named) one after the other, and prints a table. Nothing is kept.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "kite-bench-"));
const programs = readdirSync(join(here, "programs")).filter(name => name.endsWith(".ts"));
const requireForEsm = 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);';

try {
  await build({
    entryPoints: [join(here, "main.ts"), ...programs.map(name => join(here, "programs", name))],
    outdir: out,
    outbase: here,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    banner: { js: requireForEsm },
    logLevel: "warning",
  });
  const root = dirname(dirname(here));
  const child = spawn(
    process.execPath,
    ["--expose-gc", join(out, "main.mjs"), root, ...process.argv.slice(2)],
    {
      stdio: "inherit",
    },
  );
  process.exitCode = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(signal === null ? code : 1));
  });
} finally {
  rmSync(out, { recursive: true, force: true });
}
