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
