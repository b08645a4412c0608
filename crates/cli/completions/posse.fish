
# Names that only Posse knows: models, sessions, roles, workers.
complete -c posse -n "__fish_seen_subcommand_from run resume doctor" -s m -l model -x -a "(posse complete models 2>/dev/null)"
complete -c posse -n "__fish_seen_subcommand_from resume diff undo redo tasks attach tell answer stop" -a "(posse complete sessions 2>/dev/null)"
complete -c posse -n "__fish_seen_subcommand_from sessions; and __fish_seen_subcommand_from show export delete" -a "(posse complete sessions 2>/dev/null)"
complete -c posse -n "__fish_seen_subcommand_from agents; and __fish_seen_subcommand_from show" -a "(posse complete roles 2>/dev/null)"
complete -c posse -n "__fish_seen_subcommand_from workers; and __fish_seen_subcommand_from install doctor drain remove" -a "(posse complete workers 2>/dev/null)"
