/** Patches as `git apply` takes them. */
import { isUtf8 } from "node:buffer";
import { isBinary, type Texts } from "./texts.ts";

/** A file of a patch; `before` null: there was none; `after` null: it is deleted. */
export interface PatchedFile {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly mode: number;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** Returns the patch of a file; null: it is no UTF-8 text. Empty if nothing changed. Throws `ProgramFailed`. */
export async function patchOf(
  texts: Texts,
  { file, mode, before, after }: PatchedFile,
): Promise<Buffer | null> {
  const [old, fresh] = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)];
  if ([old, fresh].some(content => isBinary(content) || !isUtf8(content))) return null;
  if (before !== null && after !== null && before.equals(after)) return Buffer.alloc(0);
  const [from, to] = [quoted(`a/${file}`), quoted(`b/${file}`)];
  const kind = mode % 2 === 1 ? "100755" : "100644";
  const hunks = await texts.unified(old, fresh);
  const head = [
    `diff --git ${from} ${to}`,
    ...(before === null ? [`new file mode ${kind}`] : []),
    ...(after === null ? [`deleted file mode ${kind}`] : []),
    ...(hunks.length === 0
      ? []
      : [`--- ${before === null ? "/dev/null" : from}`, `+++ ${after === null ? "/dev/null" : to}`]),
  ];
  return Buffer.concat([Buffer.from(`${head.join("\n")}\n`), hunks]);
}

/** Returns a path as git writes it in a patch: in quotes if a line or a tab, a quote or a byte beyond ASCII is in it. */
function quoted(path: string): string {
  if (/^[ !#-[\]-~]*$/.test(path)) return path;
  const bytes = [...Buffer.from(path)].map(byte => {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === "\\") return `\\${character}`;
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  });
  return `"${bytes.join("")}"`;
}
