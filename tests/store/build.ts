/** Builds a program with changes of its source: shorter time-outs, or a planted bug. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A text of a source file, which stands there once, and what stands there instead. */
export interface Change {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

export interface Built {
  readonly program: string;
  remove(): void;
}

/**
 * Time-outs that a history of seconds meets; as shipped, an answer counts as lost after ten seconds. The core reads none
 * of them, so a replay by the unchanged core comes to the same state.
 */
export const quickBounds: readonly Change[] = [
  {
    file: "daemon/journal/postgres/bounds.ts",
    find: "  connectMs: 5_000,\n  statementMs: 5_000,\n  retryMinMs: 50,\n  retryMaxMs: 5_000,\n  waitMs: 5_000,\n  answerMs: 10_000,\n  barrierMs: 2_000,",
    put: "  connectMs: 500,\n  statementMs: 600,\n  retryMinMs: 20,\n  retryMaxMs: 300,\n  waitMs: 400,\n  answerMs: 500,\n  barrierMs: 300,",
  },
  { file: "protocol/limits.ts", find: "nodeRenewMs: 20_000", put: "nodeRenewMs: 700" },
  { file: "protocol/limits.ts", find: "storeReopenMs: 2_000", put: "storeReopenMs: 200" },
  { file: "protocol/limits.ts", find: "storeAnswerMs: 4_000", put: "storeAnswerMs: 450" },
];

/** Builds the daemon's program. */
export function buildDaemon(changes: readonly Change[]): Promise<Built> {
  return buildProgram("bin/daemon.ts", changes);
}

/** Builds a program into a folder of its own. Throws if a change quotes what does not stand there once. */
export async function buildProgram(entry: string, changes: readonly Change[]): Promise<Built> {
  const texts = changedTexts(changes);
  const folder = mkdtempSync(join(tmpdir(), "kite-built-"));
  const requireForEsm = 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);';
  await build({
    absWorkingDir: root,
    entryPoints: { program: entry },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    mainFields: ["module", "main"],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    banner: { js: requireForEsm },
    external: ["pg-native"],
    logLevel: "error",
    plugins: [
      {
        name: "changed",
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const contents = texts.get(path);
            return contents === undefined ? undefined : { contents, loader: "ts" };
          });
        },
      },
    ],
  });
  return {
    program: join(folder, "program.mjs"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function changedTexts(changes: readonly Change[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { file, find, put } of changes) {
    const path = join(root, file);
    const text = texts.get(path) ?? readFileSync(path, "utf8");
    const count = text.split(find).length - 1;
    if (count !== 1) throw new Error(`${file} has this ${count} times, not once: ${find}`);
    texts.set(
      path,
      text.replace(find, () => put),
    );
  }
  return texts;
}
