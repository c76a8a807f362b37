/** The list of slices that ask before a step. */

import {
  beforeCompletion,
  beforeFiles,
  beforePatch,
  beforeShell,
  beforeStop,
  beforeWrite,
} from "../lead/answers.ts";
import { patchOwnFiles, shellOwnFiles, writeOwnFiles } from "./answers/plain-files.ts";
import type { Before } from "./plan-parts.ts";

export const before: Before = {
  write: [writeOwnFiles, beforeWrite],
  patch: [patchOwnFiles, beforePatch],
  shell: [shellOwnFiles, beforeShell],
  files: [beforeFiles],
  stop: [beforeStop],
  completion: [beforeCompletion],
};
