/** What a command that locks and releases may name: files, and resources (`@db`). */

import { LocalError } from "../client/errors.ts";
import { isResource, lockKey, resourceName, wrongResource } from "../protocol/names.ts";
import type { LockRow } from "../protocol/schemas/lock.ts";
import { quote } from "../protocol/text.ts";
import { absolute } from "./actor.ts";

/** A word that begins with @ is no name of a resource, or a file is meant. */
class WrongName extends LocalError {
  override readonly name = "WrongName";
}

/** The fields of a request for locks. */
export interface Lockable {
  readonly file?: string;
  readonly files?: string[];
  readonly resource?: string | string[];
}

/**
 * Returns the words, typed in directory `cwd`, as a request names them: one that begins with @ is a resource, and the file
 * of that name is `./@name`. Throws `WrongName` and `EmptyName`.
 */
export function lockable(cwd: string, words: readonly string[]): Lockable {
  const resources = words.filter(isResource);
  for (const word of resources) resourceTyped(word);
  const files = words.filter(word => !isResource(word)).map(word => absolute(cwd, word));
  const [[file], [resource]] = [files, resources];
  if (words.length === 1) return file === undefined ? { resource: resource ?? "" } : { file };
  return {
    ...(files.length === 0 ? {} : { files }),
    ...(resources.length === 0 ? {} : { resource: resources }),
  };
}

/** Returns the resource's name. Throws `WrongName` if the word is none. */
export function resourceTyped(word: string): string {
  const wrong = wrongResource(word);
  if (wrong !== null) throw new WrongName(wrong);
  return resourceName(word);
}

/** Returns a word that names a file or a directory. Throws `WrongName` if it begins with @, and so names a resource. */
export function fileTyped(word: string): string {
  if (!isResource(word)) return word;
  throw new WrongName(`${quote(word)} names a resource, not a file; the file is ${quote(`./${word}`)}`);
}

/** Returns a test for the locks on what the word names; `project`: that of the directory. */
export function isOn(cwd: string, word: string, project: string | null) {
  const path = isResource(word) ? word : absolute(cwd, word);
  const key = lockKey({ path, project: project ?? "" });
  return (row: Pick<LockRow, "path" | "project">) => lockKey(row) === key;
}
