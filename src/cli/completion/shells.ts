import type { Candidate, Completion } from './completion-candidates.ts';

/** Shells with completion. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of SHELLS. */
export type Shell = (typeof SHELLS)[number];

/** Longest description shown beside a word, in characters. */
const ABOUT_CHARACTERS_MAX = 70;

/**
 * The script that a shell loads. It calls the program at each completion, so it does not change when the program is updated.
 */
export function scriptOf(shell: Shell): string {
  return scripts[shell];
}

/** Joins words that the shell has split, such as `--flag=value` in bash. The last word is the one at the cursor. */
export function wordsOf(shell: Shell, words: readonly string[]): string[] {
  if (shell !== 'bash') return [...words];
  // Bash splits at an equals sign.
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    const isContinued = before !== undefined && (word === '=' || before.endsWith('=')) && before.startsWith('--');
    if (isContinued) joined[joined.length - 1] = before + word;
    else joined.push(word);
  }
  return joined;
}

/** Formats the completions, one per line, for the shell's script. */
export function formatCompletion(shell: Shell, { candidates, paths }: Completion): string {
  const lines = candidates.map((candidate) => formatCandidate(shell, candidate));
  return [...lines, ...(paths === 'none' ? [] : [`:${paths}`])].map((line) => `${line}\n`).join('');
}

function formatCandidate(shell: Shell, { word, about }: Candidate): string {
  const description = shorten(about);
  switch (shell) {
    case 'bash':
      return word.replace(/^--[^=]+=/, '');
    case 'zsh':
      return `${word.replaceAll(':', '\\:')}${description === '' ? '' : `:${description}`}`;
    case 'fish':
      return `${word}${description === '' ? '' : `\t${description}`}`;
  }
}

function shorten(about: string): string {
  const line = about.replaceAll(/\s+/g, ' ').trim();
  return line.length <= ABOUT_CHARACTERS_MAX ? line : `${line.slice(0, ABOUT_CHARACTERS_MAX - 1)}…`;
}

const bash = `# Completes sightline's command line in bash. Load it with: source <(sightline completion bash)
_sightline() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  [ "$current" = "=" ] && current=""
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files | :folders)
        local kind=-f path
        [ "$line" = ":folders" ] && kind=-d
        compopt -o filenames 2>/dev/null
        while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$kind" -- "$current")
        ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <("$1" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _sightline sightline
`;

const zsh = `#compdef sightline
# Completes sightline's command line in zsh. Load it with: source <(sightline completion zsh)
_sightline() {
  local line wanted
  local -a described
  while IFS= read -r line; do
    case "$line" in
      :files | :folders) wanted="$line" ;;
      *) described+=("$line") ;;
    esac
  done < <("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#described )) && _describe -V sightline described
  if [[ -n "$wanted" ]]; then
    compset -P '--*='
    [[ "$wanted" == ":folders" ]] && _files -/ || _files
  fi
}
if [[ "$funcstack[1]" == "_sightline" ]]; then _sightline "$@"; else compdef _sightline sightline; fi
`;

const fish = `# Completes sightline's command line in fish. Load it with: sightline completion fish | source
function __sightline_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l flag (string match -r -- '^--[^=]+=' "$current")
    set -l value (string replace -r -- '^--[^=]+=' '' "$current")
    for line in ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                for path in (__fish_complete_path "$value")
                    echo "$flag$path"
                end
            case ':folders'
                for path in (__fish_complete_directories "$value")
                    echo "$flag$path"
                end
            case '*'
                echo $line
        end
    end
end
complete -c sightline -f -a '(__sightline_complete)'
`;

const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
