/** Checks the record of the projects' checks that a person trusted. */
import { InstallFailed } from "../../../hooks/install/file.ts";
import { advise, aside, fail } from "../../doctor/advice.ts";
import { damaged, oddFile } from "../../doctor/odd-file.ts";
import type { ProcessContext } from "../../process-context.ts";
import type { Check } from "../../view/doctor.ts";
import { readTrusted } from "./trusted-store.ts";

/** Returns no check if the record is well or there is none. */
export function checkTrusted(world: ProcessContext): Check[] {
  const { trusted } = world.paths;
  const odd = oddFile(trusted);
  if (odd !== null) return [fail("trust", `${odd.what}, so no project's checks are trusted`, odd.advice)];
  try {
    readTrusted(trusted);
    return [];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const detail = `${damaged(trusted)}, so no project's checks are trusted`;
    const advice = advise("put it aside, then trust the projects again (kite check --trust)", aside(trusted));
    return [fail("trust", detail, advice)];
  }
}
