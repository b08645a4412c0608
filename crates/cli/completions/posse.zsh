
# Names that only Posse knows: models, sessions, roles, workers.
_posse_names() {
    local what="" before="${(j: :)words[2,CURRENT-1]}"
    case "${words[CURRENT-1]}" in (-m|--model) what=models ;; esac
    if [[ -z "$what" && "${words[CURRENT]}" != -* ]]; then
        case "$before" in
            (resume|diff|undo|redo|tasks|attach|tell|answer|stop|"sessions show"|"sessions export"|"sessions delete"*) what=sessions ;;
            ("agents show") what=roles ;;
            ("workers install"|"workers doctor"|"workers drain"|"workers remove") what=workers ;;
        esac
    fi
    if [[ -n "$what" ]]; then
        compadd -- ${(f)"$(posse complete $what 2>/dev/null)"}
    else
        _posse "$@"
    fi
}
compdef _posse_names posse
