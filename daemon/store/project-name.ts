/** The form of a name by which machines know a project. */
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";

/** Whether a text may be a project's name: in the composed form of Unicode, and shown as it is. */
export function isProjectName(text: string): boolean {
  return text !== "" && text.length <= limits.sharedProjectChars && text.normalize("NFC") === plain(text);
}
