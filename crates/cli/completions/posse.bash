
# Names that only Posse knows: models, sessions, roles, workers.
_posse_names() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD - 1]}" before what=""
    before="${COMP_WORDS[*]:1:COMP_CWORD - 1}"
    case "$prev" in -m | --model) what=models ;; esac
    if [[ -z "$what" && "$cur" != -* ]]; then
        case "$before" in
        resume | diff | undo | redo | tasks | attach | tell | answer | stop | "sessions show" | "sessions export" | "sessions delete"*) what=sessions ;;
        "agents show") what=roles ;;
        "workers install" | "workers doctor" | "workers drain" | "workers remove") what=workers ;;
        esac
    fi
    if [[ -n "$what" ]]; then
        COMPREPLY=($(compgen -W "$(posse complete "$what" 2>/dev/null)" -- "$cur"))
        return 0
    fi
    _posse "$@"
}
complete -F _posse_names -o bashdefault -o default posse
