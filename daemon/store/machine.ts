/** The machine's id for programs, which never leaves it, and its name for people. */
import { isIP } from "node:net";
import { hostname } from "node:os";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import { readLinkedFile } from "./private-file.ts";

/** Files of systemd and of D-Bus; a machine has the same id in both. */
const idFiles: readonly string[] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/**
 * Returns what tells this machine from others: its id, if the system keeps one in a file. Else returns its name without the
 * domain, which may change from network to network.
 */
export function machineId(files: readonly string[] = idFiles, host: string = hostname()): string {
  for (const file of files) {
    const found = readLinkedFile(file, limits.machineIdBytes, false);
    // A file that is missing, or that no boot has filled yet, has no id; the next one may.
    const id = found.is === "read" ? found.text.trim().toLowerCase() : "";
    if (/^[0-9a-f]{32}$/.test(id) && !/^0+$/.test(id)) return `id ${id}`;
  }
  return `name ${firstLabel(host).toLowerCase()}`;
}

/** Returns what tells this start of the machine from others, also of a copy of its disk; empty where the system does not say. */
export function bootId(file = "/proc/sys/kernel/random/boot_id"): string {
  const found = readLinkedFile(file, limits.machineIdBytes, false);
  return found.is === "read" ? found.text.trim() : "";
}

/** Returns the machine's name for people, as behind the @ in `alice@laptop`: one word of at most `limits.machineNameChars`. */
export function machineName(host: string = hostname()): string {
  const word = plain(firstLabel(host)).replace(/[\s@]+/g, "-");
  return plain(word, limits.machineNameChars) || "machine";
}

/** Returns a host's name without its domain; an address as it is. */
function firstLabel(host: string): string {
  return isIP(host) === 0 ? (host.split(".").find(label => label !== "") ?? "") : host;
}
