// `npm run bench:claude`: what Kite costs the real client. Bundles the measurement into a temporary directory and
// runs it there; nothing is kept.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { installClient } from "./install-client.mjs";

const claude = await installClient();
const out = mkdtempSync(join(tmpdir(), "kite-overhead-"));
try {
  const outfile = join(out, "overhead.mjs");
  const entry = fileURLToPath(new URL("overhead.ts", import.meta.url));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
  });
  const kite = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
  const child = spawn(process.execPath, [outfile, claude, kite], { stdio: "inherit" });
  process.exitCode = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", code => resolve(code ?? 1));
  });
} finally {
  rmSync(out, { recursive: true, force: true });
}
