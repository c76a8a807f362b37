/** The error for a directory whose project Kite could not determine. */
import { LocalError } from "../client/errors.ts";

/** Kite could not read the directory in time, so the command's project is unknown. */
export class ProjectUnknown extends LocalError {
  override readonly name = "ProjectUnknown";
}

/** Returns the error for a directory that could not be read. */
export function projectUnknown(cwd: string, why: string): ProjectUnknown {
  return new ProjectUnknown(
    `could not determine the project of ${cwd}: ${why}. Try again, or name it: --project`,
  );
}
