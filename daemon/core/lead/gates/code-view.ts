import type { DeclaredFile } from "../../declarations/table.ts";
import { viewMissing } from "../declarations/missing.ts";
import type { WriteFacts } from "./facts.ts";

/** An agent changes code only in files that it declared, alone or with their folder. */
export function codeView({ declaration, file }: WriteFacts): readonly string[] {
  if (!file.isCode) return [];
  const covers = ({ key, dir }: DeclaredFile) => key === file.key || (dir && file.key.startsWith(`${key}/`));
  const lacks = (declaration?.files ?? []).filter(covers).map(declared => viewMissing([declared]));
  // One that says everything is enough, whatever was declared around it.
  const [least] = lacks.sort((a, b) => a.length - b.length);
  if (least !== undefined) return least;
  return [`codeView: ${file.path}, with what is there now (sees) and what you will do there (will)`];
}
