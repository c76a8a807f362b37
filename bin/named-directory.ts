/** A directory that a command names. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { LocalError } from "../client/errors.ts";
import { absolute } from "./actor.ts";

/** A command names a directory that is not there. */
class NoDirectory extends LocalError {
  override readonly name = "NoDirectory";
}

/** Returns the absolute path of a directory that a command names. Throws `NoDirectory` if none is there. */
export function namedDirectory(cwd: string, directory: string): string {
  const path = resolve(absolute(cwd, directory));
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new NoDirectory(`there is no directory ${path}; name one of the project`);
}
