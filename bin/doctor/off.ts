/** Checks whether somebody switched Kite off: then nothing is broken, but edits are not coordinated. */
import { isInForce, OffSwitchReader, offFiles, parseOffSwitches } from "../../daemon/config/off-switch.ts";
import { InstallFailed, readText } from "../../hooks/install/file.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { stillOff, whatIsOff } from "../off/now.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { advise, fail, warn } from "./advice.ts";
import { irregular, oddFile } from "./odd-file.ts";

const check = "off";

/** Whether Kite is off for everything, so that no hook asks the daemon. */
export function isOffEverywhere(world: ProcessContext): boolean {
  return isInForce(new OffSwitchReader(world.paths.home).read().all, world.now());
}

export function checkOff(world: ProcessContext): Check[] {
  const checks: Check[] = [];
  if (world.env["KITE"] === "off") {
    const detail = "KITE=off is set in this shell: edits of sessions that start here are not coordinated";
    checks.push(warn(check, detail, "switch it on here: unset KITE"));
  }
  const { all, some } = offFiles(world.paths.home);
  const odd = [all, some].find(path => irregular(path) !== null);
  if (odd !== undefined) {
    const detail = `${irregular(odd)}, so kite off and kite on do not work`;
    checks.push(fail(check, detail, advise("remove it", `rm -r ${shellArgument(odd)}`)));
    return checks;
  }
  const shut = oddFile(some);
  if (shut !== null) {
    checks.push(fail(check, `${shut.what}, so kite off and kite on do not work`, shut.advice));
    return checks;
  }
  if (isUnreadable(some)) {
    const detail = `${some} is not as Kite writes it; it switches nothing off`;
    checks.push(warn(check, detail, advise("remove it", `rm ${shellArgument(some)}`)));
  }
  const sentences = whatIsOff(world).map(said => said.replace(/\. Switch it on: .*$/, ""));
  const lines = commands(world);
  for (const [i, detail] of sentences.entries()) {
    checks.push(warn(check, detail, advise("switch it on", lines[i] ?? "kite on")));
  }
  return checks;
}

/** The commands that end what is off, in the order of `whatIsOff`. */
function commands(world: ProcessContext): string[] {
  const now = world.now();
  const { all, projects, sessions } = new OffSwitchReader(world.paths.home).read();
  return [
    ...(isInForce(all, now) ? ["kite on"] : []),
    ...[...stillOff(projects, now).keys()].map(path => `kite on --project ${shellArgument(path)}`),
    ...[...stillOff(sessions, now).keys()].map(id => `kite on --session ${shellArgument(id)}`),
  ];
}

function isUnreadable(path: string): boolean {
  try {
    const text = readText(path, limits.settingsBytes);
    return text !== null && parseOffSwitches(text) === null;
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return true;
  }
}
