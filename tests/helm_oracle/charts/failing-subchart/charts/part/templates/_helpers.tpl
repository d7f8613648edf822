{{- define "part.validated" -}}
{{- if not (has .Values.mode (list "single" "cluster")) -}}
{{- printf "part: the mode %q does not exist; set part.mode to single or cluster" .Values.mode | fail -}}
{{- end -}}
{{- .Values.mode -}}
{{- end -}}
