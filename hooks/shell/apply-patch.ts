/**
 * Reads which files a patch touches: the text of the tool `apply_patch`, with one header line a file. What the patch does
 * within a file is not read.
 */
import { limits } from "../../protocol/limits.ts";

/** A file as the patch names it: absolute, or relative to where the patch is applied. */
export interface PatchedFile {
  readonly path: string;
  /** `add`: a file that is there is overwritten. `move`: the file goes to the name that the next one adds. */
  readonly does: "add" | "change" | "move" | "delete";
}

export interface Patch {
  /** Each file once for each thing that the patch does to it, at most `limits.patchFilesMax`. */
  readonly files: readonly PatchedFile[];
  /** Why the list may lack files, in words; null: it is whole. */
  readonly unread: string | null;
}

const headers: readonly (readonly [begin: string, does: PatchedFile["does"]])[] = [
  ["*** Add File: ", "add"],
  ["*** Update File: ", "change"],
  ["*** Delete File: ", "delete"],
];
const moveTo = "*** Move to: ";
/** Lines of the form that name no file. */
const other = /^\*\*\* (?:End of File$|Environment ID: )/;

/**
 * Reads a patch. Never throws, whatever the text holds. A doubtful line counts as a header: a file too many is locked, and
 * none is missed. Only in the text of a file may a line look like a header; there it begins with a space, `+` or `-`.
 */
export function readPatch(text: string): Patch {
  const begin = /^[ \t]*\*\*\* Begin Patch[ \t\r]*$/m.exec(text);
  if (begin === null) return { files: [], unread: "the patch has no first line that Kite knows" };
  const files: PatchedFile[] = [];
  let unread: string | null = null;
  let last: PatchedFile["does"] | null = null;
  for (const raw of linesFrom(text, begin.index + begin[0].length + 1)) {
    // Within the lines of a change a space begins an unchanged line.
    const line = last === "change" ? raw.trimEnd() : raw.trim();
    if (!line.startsWith("***")) continue;
    if (/^\*\*\* End Patch$/.test(line)) return { files, unread };
    const named = fileIn(line, files.at(-1) ?? null);
    if (named === null) {
      if (!other.test(line)) unread ??= "the patch has a header that Kite does not know";
      continue;
    }
    if (!isPath(named.path)) {
      unread ??= "the patch names a file by no usable path";
      continue;
    }
    if (files.length >= limits.patchFilesMax) {
      unread = `the patch names more than ${limits.patchFilesMax} files`;
      return { files, unread };
    }
    const { isMoved, ...file } = named;
    const from = files.at(-1);
    if (isMoved && from !== undefined) files[files.length - 1] = { path: from.path, does: "move" };
    files.push(file);
    last = isMoved ? "change" : file.does;
  }
  return { files, unread: unread ?? "the patch has no last line" };
}

/** Null: the line is no header of a file. */
function fileIn(
  line: string,
  before: PatchedFile | null,
): (PatchedFile & { readonly isMoved: boolean }) | null {
  for (const [begin, does] of headers)
    if (line.startsWith(begin)) return { path: line.slice(begin.length), does, isMoved: false };
  if (before?.does !== "change" || !line.startsWith(moveTo)) return null;
  return { path: line.slice(moveTo.length), does: "add", isMoved: true };
}

function isPath(path: string): boolean {
  return path !== "" && path.length <= limits.pathBytes && !path.includes("\0");
}

function* linesFrom(text: string, from: number): Generator<string, void> {
  for (let at = from; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const stop = end === -1 ? text.length : end;
    yield text.slice(at, stop);
    at = stop + 1;
  }
}
