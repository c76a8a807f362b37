/** The list of slices that ask before a step. */
import { shellOwnFiles, writeOwnFiles } from "./answers/own-files.ts";
import { beforeCompletion, beforeFiles, beforeShell, beforeStop, beforeWrite } from "./lead/gate.ts";
import type { Before } from "./points.ts";

export const before: Before = {
  write: [writeOwnFiles, beforeWrite],
  shell: [shellOwnFiles, beforeShell],
  files: [beforeFiles],
  stop: [beforeStop],
  completion: [beforeCompletion],
};
