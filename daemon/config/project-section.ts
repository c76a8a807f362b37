/**
 * The key `project` of a project's file: the name by which machines that share a store know the project. On one machine it does
 * nothing. Any agent may write the file, so the name is bounded, on one line, and shown as it is.
 */
import { limits } from "../../protocol/limits.ts";
import { isProjectName } from "../store/project-name.ts";
import type { Section } from "./setting.ts";

const project: Section<string | null> = {
  read(value, path, problems) {
    if (value === undefined) return null;
    if (typeof value === "string" && isProjectName(value.normalize("NFC"))) return value.normalize("NFC");
    problems.push(
      `${path}: project is ignored: expected a name on one line of at most ${limits.sharedProjectChars} characters, ` +
        'like "team/shop", without blanks around it, control characters, < and >',
    );
    return null;
  },
  elsewhere: "project is the name of one project: write it into that project's .kite/config.json",
};

export const nameSections = { project };
