/**
 * Names of what is no file, and that agents share: a browser, a database, a port, a build. A lock on a name is like one on a
 * file. `@port-N` and `@machine/NAME` mean the same for the whole machine, any other name for its project.
 */
import { limits } from "./limits.ts";
import { quote } from "./text.ts";

const machine = "machine/";
const plainName = /^[A-Za-z0-9][\w.-]*$/;
const portsMax = 65_535;

/** Whether a word that names a file or a resource names a resource. The file of that name is `./@name`. */
export function isResource(word: string): boolean {
  return word.startsWith("@");
}

/** Returns what is wrong with the name of a resource, as a sentence without an end; null: nothing. */
export function wrongResource(name: string): string | null {
  const inner = name.startsWith(`@${machine}`) ? name.slice(machine.length + 1) : name.slice(1);
  const shown = quote(name, limits.resourceChars);
  if (!isResource(name) || name.length > limits.resourceChars || !plainName.test(inner))
    return (
      `${shown} is no name of a resource: write @ and letters, digits, dots, _ and -, at most ${limits.resourceChars} ` +
      "characters, as in @db, @port-3000 and @machine/gpu; a file is named with ./ before the @"
    );
  if (name === `@${machine.slice(0, -1)}`) return "@machine needs a name behind it, as in @machine/gpu";
  const [, port] = /^port-(\d.*)$/i.exec(inner) ?? [];
  if (port === undefined || inner !== name.slice(1) || isPort(port)) return null;
  return `${shown} is no port: write @port- and a number from 1 to ${portsMax}, as in @port-3000`;
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= portsMax;
}

/** Returns the name in lower case: `@DB` and `@db` are one resource. */
export function resourceName(name: string): string {
  return name.toLowerCase();
}

/**
 * Returns what tells one resource from another on a machine: the name, and the project unless it is the machine's. A path
 * stays as it is.
 */
export function lockKey({ path, project }: { readonly path: string; readonly project: string }): string {
  if (!isResource(path)) return path;
  const name = resourceName(path);
  return isOfMachine(name) ? name : `${name}@${project}`;
}

/** Returns the resource's name in its key. */
export function nameInKey(key: string): string {
  return isResource(key) ? (/^@[^@]*/.exec(key)?.[0] ?? key) : key;
}

/** Whether the resource is the machine's, not a project's. */
export function isOfMachine(name: string): boolean {
  return /^@(?:machine\/|port-\d)/.test(resourceName(name));
}
