/** The list of slices that ask before a step. */
import { patchOwnFiles, shellOwnFiles, writeOwnFiles } from "./answers/own-files.ts";
import {
  beforeCompletion,
  beforeFiles,
  beforePatch,
  beforeShell,
  beforeStop,
  beforeWrite,
} from "./lead/gate.ts";
import type { Before } from "./points.ts";

export const before: Before = {
  write: [writeOwnFiles, beforeWrite],
  patch: [patchOwnFiles, beforePatch],
  shell: [shellOwnFiles, beforeShell],
  files: [beforeFiles],
  stop: [beforeStop],
  completion: [beforeCompletion],
};
