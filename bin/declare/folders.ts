/** The files of a code view as whole paths. */
import { stat } from "node:fs/promises";
import type { DeclarationParts } from "../../protocol/schemas/declaration.ts";
import { absolute } from "../actor.ts";
import { fileTyped } from "../lockable.ts";

type CodeView = NonNullable<DeclarationParts["codeView"]>;

/** Returns the view with absolute paths, from directory `cwd`; a folder gets the slash that tells it from a file. */
export function wholePaths(cwd: string, view: CodeView): Promise<CodeView> {
  return Promise.all(
    view.map(async one => ({ ...one, file: await withSlash(absolute(cwd, fileTyped(one.file))) })),
  );
}

async function withSlash(path: string): Promise<string> {
  if (path.endsWith("/")) return path;
  // Whatever cannot be looked at counts as the file that its name says.
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  );
  return isFolder ? `${path}/` : path;
}
